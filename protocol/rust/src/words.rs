//! The closed sets of words.

use serde::{Serialize, Serializer};
use std::fmt;

/// An enum for each set, with the words as they are sent.
macro_rules! words {
    ($(
        $(#[$set_doc:meta])*
        $set:ident { $($(#[$word_doc:meta])* $name:ident = $word:literal,)* }
    )*) => {$(
        $(#[$set_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $set { $($(#[$word_doc])* $name,)* }

        impl $set {
            /// Returns the word as it is sent.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            pub(crate) fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$name),)* _ => None }
            }
        }

        impl fmt::Display for $set {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl Serialize for $set {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    )*};
}

words! {
    /// What went wrong: the payload's `type`.
    ///
    /// ```
    /// use agent_error::ErrorKind;
    ///
    /// assert_eq!(ErrorKind::RateLimit.to_string(), "rate_limit");
    /// assert!(ErrorKind::RateLimit.is_usually_retryable());
    /// ```
    ErrorKind {
        /// Throttled, or a window of the plan is used up that resets in less than a day.
        RateLimit = "rate_limit",
        /// Credit, a spending cap, a daily quota or a longer window of the plan is used up.
        Budget = "budget",
        /// The provider is failing, overloaded, or still loading the model.
        ProviderUnavailable = "provider_unavailable",
        /// The input is too large.
        ContextOverflow = "context_overflow",
        /// A credential is missing, invalid, expired, or not allowed to do this.
        Auth = "auth",
        /// Not recognised, or a type that this version does not know.
        Unknown = "unknown",
        /// The model or endpoint does not exist, or not for this credential.
        ModelNotFound = "model_not_found",
        /// The request is malformed or not supported.
        InvalidRequest = "invalid_request",
        /// Prompt or output was refused by policy.
        ContentFilter = "content_filter",
        /// A deadline ran out.
        Timeout = "timeout",
        /// The connection failed or was cut.
        Network = "network",
        /// The user stopped it.
        Cancelled = "cancelled",
        /// The agent's process died or did not start.
        AgentCrash = "agent_crash",
        /// The agent made no progress.
        AgentStalled = "agent_stalled",
        /// The agent flooded its stderr.
        StderrOverflow = "stderr_overflow",
        /// A message of the agent or the provider could not be read.
        ProtocolError = "protocol_error",
        /// A bug in the agent, or in the program between agent and client.
        Internal = "internal",
    }

    /// Whose fault it was.
    ///
    /// ```
    /// assert_eq!(agent_error::Origin::Provider.as_str(), "provider");
    /// ```
    Origin {
        /// The model provider.
        Provider = "provider",
        /// The network in between.
        Network = "network",
        /// The agent.
        Agent = "agent",
        /// The agent's process.
        Process = "process",
        /// The client.
        Client = "client",
        /// The program between agent and client.
        Lastword = "lastword",
    }

    /// How far the turn had come.
    ///
    /// ```
    /// assert_eq!(agent_error::Phase::BeforeOutput.as_str(), "before_output");
    /// ```
    Phase {
        /// The agent was starting.
        Startup = "startup",
        /// The model had not been asked.
        BeforeRequest = "before_request",
        /// There was no output.
        BeforeOutput = "before_output",
        /// There was some output.
        MidOutput = "mid_output",
        /// A tool was running.
        ToolRunning = "tool_running",
        /// A tool had run.
        AfterTool = "after_tool",
    }

    /// Whether sending the same prompt again would do harm, apart from whether it would help.
    ///
    /// ```
    /// assert_eq!(agent_error::RetrySafety::OfferContinue.as_str(), "offer_continue");
    /// ```
    RetrySafety {
        /// A machine may resend the prompt.
        Auto = "auto",
        /// Offer the user to continue.
        OfferContinue = "offer_continue",
        /// Ask the user before the prompt is sent again.
        Ask = "ask",
        /// Do not resend the prompt.
        Never = "never",
    }

    /// What the user can do about it.
    ///
    /// ```
    /// assert_eq!(agent_error::Action::TopUp.as_str(), "top_up");
    /// ```
    Action {
        /// Wait, and send the prompt again.
        Wait = "wait",
        /// Send the prompt again.
        Retry = "retry",
        /// Let the agent continue.
        Continue = "continue",
        /// Check what was done, and send the prompt again.
        ConfirmRetry = "confirm_retry",
        /// Log in.
        Login = "login",
        /// Add credit.
        TopUp = "top_up",
        /// Choose another model.
        SwitchModel = "switch_model",
        /// Shorten the conversation.
        Shorten = "shorten",
        /// Rephrase the prompt.
        Rephrase = "rephrase",
        /// Correct the settings.
        FixConfiguration = "fix_configuration",
        /// Restart the agent.
        Restart = "restart",
        /// Report the failure.
        Report = "report",
    }
}

impl ErrorKind {
    /// Returns what `retryable` is for this type where a payload does not say it.
    #[must_use]
    pub const fn is_usually_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimit
                | Self::ProviderUnavailable
                | Self::Timeout
                | Self::Network
                | Self::AgentCrash
                | Self::AgentStalled
                | Self::StderrOverflow
        )
    }
}
