#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
mod reader;
mod retry;
mod sentence;
mod words;

pub use error::AgentError;
pub use reader::{read_answer, read_error, read_update};
pub use retry::RetryAdvice;
pub use words::{Action, ErrorKind, Origin, Phase, RetrySafety};
