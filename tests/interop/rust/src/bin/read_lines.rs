//! Reads a JSON value a line on stdin; writes what the crate `agent-error` makes of it, or `null`.

use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let told = serde_json::from_str(&line?)?;
        writeln!(out, "{}", serde_json::to_string(&agent_error::read_error(&told))?)?;
    }
    Ok(())
}
