// What a client needs: the reader, and what to show for a failure.
export * from "./agent_error.js";
export * from "./error_view.js";
