"""macOS by taking away: Python processes on Linux without what Linux alone has."""
