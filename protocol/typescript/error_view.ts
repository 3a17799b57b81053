// What a client shows of a failure and of a retry, and how it gets their updates from an SDK.
//
// Owns: titles, buttons, the countdown, and the rules of a Retry button, as `lastword.client` has
// them in Python. Does not own: the types and the reader, which are in agent_error.ts beside it.
import type {
  Action, AgentErrorPayload, AgentErrorUpdate, AgentRetryUpdate, ErrorType,
} from "./agent_error.js";

/** What to show for a failure at one moment. Every text is plain and on one line. */
export interface ErrorView {
  /** A few words. */
  title: string;
  /** What happened and what to do. A wait in it is the one at the moment of the failure. */
  sentence: string;
  /** What helps. */
  action: Action;
  /** The label of a button that leads there. */
  button: string;
  /** How long the wait still lasts; 0 when it is over, `null` if none was stated. */
  waitSeconds: number | null;
  /** The same in words, such as `retry in 18 s`; empty when there is none. */
  countdown: string;
  /** Does a Retry button make sense? */
  canRetry: boolean;
  /** Must the user agree first, because a retry might do something twice? */
  needsConfirmation: boolean;
  /**
   * May the client resend by itself, once `waitSeconds` is 0 or `null`? Never without a limit of
   * its own on how often.
   */
  automatic: boolean;
}

export const TITLES: Record<ErrorType, string> = {
  rate_limit: "Rate limited",
  budget: "Budget used up",
  provider_unavailable: "Model provider unavailable",
  context_overflow: "Conversation too long",
  auth: "Login needed",
  unknown: "The agent reported an error",
  model_not_found: "Model not available",
  invalid_request: "Request refused",
  content_filter: "Blocked by the content policy",
  timeout: "No answer in time",
  network: "Connection failed",
  cancelled: "Cancelled",
  agent_crash: "The agent crashed",
  agent_stalled: "The agent stopped responding",
  stderr_overflow: "The agent was stopped",
  protocol_error: "Invalid message from the agent",
  internal: "Internal error",
};

/** What the one button says that leads to the action. */
export const BUTTONS: Record<Action, string> = {
  wait: "Try again",
  retry: "Try again",
  continue: "Continue",
  confirm_retry: "Try again…",
  login: "Log in",
  top_up: "Add credits",
  switch_model: "Choose another model",
  shorten: "Shorten the conversation",
  rephrase: "Edit the prompt",
  fix_configuration: "Open the settings",
  restart: "Restart the agent",
  report: "Show the details",
};

const USUAL: Record<ErrorType, Action> = {
  rate_limit: "wait",
  budget: "top_up",
  provider_unavailable: "wait",
  context_overflow: "shorten",
  auth: "login",
  unknown: "report",
  model_not_found: "switch_model",
  invalid_request: "fix_configuration",
  content_filter: "rephrase",
  timeout: "retry",
  network: "retry",
  cancelled: "retry",
  agent_crash: "restart",
  agent_stalled: "restart",
  stderr_overflow: "restart",
  protocol_error: "report",
  internal: "report",
};

// The longest wait before a resend that nobody asked for, as `lastword run` has it.
const MAX_AUTOMATIC_WAIT_SECONDS = 300;
const UNITS = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]] as const;

/**
 * Says what to show for a failure: call it again each second, and the countdown moves.
 * `receivedMs` is when it came and `nowMs` the moment to say it for, both as `Date.now()` has it.
 */
export function view(
  error: AgentErrorPayload, receivedMs: number, nowMs: number = Date.now(),
): ErrorView {
  const wait = waitOf(error, receivedMs, nowMs);
  const safety = error.retry_safety;
  const byWord = error.retryable && safety !== "never";
  // What a limit forbade it allows once it has reset; whether that is safe nobody has said.
  const canRetry = byWord || (wait === 0 && (error.type === "rate_limit" || error.type === "budget"));
  const isHarmless = safety === "auto" || safety === "offer_continue";
  const action = error.action ?? usualAction(error);
  const longest = (error.retry_after_seconds || wait) ?? 0;
  return {
    title: TITLES[error.type],
    sentence: error.message,
    action,
    button: BUTTONS[action],
    waitSeconds: wait,
    countdown: wait ? `${canRetry ? "retry" : "resets"} in ${shortDuration(wait)}` : "",
    canRetry,
    needsConfirmation: canRetry && !(byWord && isHarmless),
    automatic: byWord && safety === "auto" && longest <= MAX_AUTOMATIC_WAIT_SECONDS,
  };
}

/** Says that the agent is trying again, as one line: show it until output or a failure comes. */
export function retryLine(retry: AgentRetryUpdate): string {
  const { attempt, max_attempts: most, wait_seconds: wait, error } = retry;
  const what = error ? `${TITLES[error.type] ?? TITLES.unknown}. ` : "";
  const when = wait ? ` in ${shortDuration(wait)}` : "";
  const which = attempt == null ? "" : ` (attempt ${attempt}${most == null ? "" : ` of ${most}`})`;
  return `${what}Trying again${when}${which}.`;
}

/**
 * Gives the stream of an SDK that drops updates of kinds that it does not know without those two,
 * which `note` gets instead. Wrap what `ndJsonStream` gives, before the SDK connects.
 */
export function withErrors<Message extends object>(
  stream: { readable: ReadableStream<Message>; writable: WritableStream<Message> },
  note: (update: AgentErrorUpdate | AgentRetryUpdate, sessionId: string) => void,
): { readable: ReadableStream<Message>; writable: WritableStream<Message> } {
  const tap = new TransformStream<Message, Message>({
    transform(message, controller) {
      const { method, params } = message as { method?: unknown; params?: Update };
      const kind = method === "session/update" ? params?.update?.sessionUpdate : undefined;
      if (kind !== "agent_error" && kind !== "agent_retry") return controller.enqueue(message);
      try {
        note(params!.update as AgentErrorUpdate | AgentRetryUpdate, params!.sessionId);
      } catch (thrown) {
        // What is thrown in here would end the connection.
        console.error(thrown);
      }
    },
  });
  return { writable: stream.writable, readable: stream.readable.pipeThrough(tap) };
}

type Update = { sessionId: string; update?: { sessionUpdate?: unknown } } | null;

function usualAction({ type, retryable, retry_safety: safety }: AgentErrorPayload): Action {
  const usual = USUAL[type];
  if (!retryable || usual === "restart") return usual;
  if (safety === "offer_continue") return "continue";
  return safety === "ask" ? "confirm_retry" : usual;
}

/** Whole seconds from now, rounded up; where the clock was set back, no more than was stated. */
function waitOf(error: AgentErrorPayload, receivedMs: number, nowMs: number): number | null {
  const after = error.retry_after_seconds;
  const until = after === undefined
    ? error.reset_at_epoch_ms : Math.min(receivedMs, nowMs) + after * 1000;
  return until === undefined ? null : Math.max(0, Math.ceil((until - nowMs) / 1000));
}

/** A wait in at most two units, never shorter than it is. */
function shortDuration(seconds: number): string {
  for (const [index, [size, unit]] of UNITS.entries()) {
    const [less, smaller] = UNITS[index + 1] ?? [0, ""];
    if (!less || seconds < size) continue;
    // Rounded up before it is divided: 59 min 59 s of an hour are a whole one.
    const whole = Math.ceil(seconds / less) * less;
    const rest = (whole % size) / less;
    return `${Math.floor(whole / size)} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`;
  }
  return `${seconds} s`;
}
