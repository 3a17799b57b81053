"""What tests share: clients, agents that misbehave, frames, samples, places."""
