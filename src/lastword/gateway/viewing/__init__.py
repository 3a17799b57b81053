"""What front and holder share: viewers, their positions in a log, and the frames they are sent."""
