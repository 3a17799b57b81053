//! Reads a JSON value a line on stdin; writes what `agent_error.rs` makes of it, or `null`.

#[path = "../agent_error.rs"]
mod agent_error;

use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let told = serde_json::from_str(&line?)?;
        writeln!(out, "{}", serde_json::to_string(&agent_error::read_error(&told))?)?;
    }
    Ok(())
}
