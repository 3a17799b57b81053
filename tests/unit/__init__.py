"""No process, no connection: these are quick, and measure what of the core is tested."""
