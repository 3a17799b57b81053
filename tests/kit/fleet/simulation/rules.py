"""One fault of a fleet at a time: a session without other accidents, the fault, and its bound.

Owns a schedule for each fault that a fleet has to endure. What was said before it and what is said
after it differ from number to number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.fleet.simulation.world import TAKEOVER_SECONDS, FleetWorld

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.fleet.simulation.owner import Owner


def _begin(world: FleetWorld) -> Owner:
    """Play a session without accidents for a while; return its owner."""
    world.broker.are_faults_over = True
    world.goes_on_without = False
    world.clock.run(5.0)
    _go_on(world)
    (owner,) = world.serving()
    return owner


def _go_on(world: FleetWorld, steps: int = 40) -> None:
    for _ in range(steps):
        world.steps += 1
        world.clock.run(world.dice() * 0.3)
        world.quiet_step()


def _end(world: FleetWorld) -> None:
    _go_on(world)
    world.rest()


def _other(world: FleetWorld, than: Owner, within: float) -> Owner:
    """Return the owner that has taken a session over in time."""
    until = world.clock.now + within
    while world.clock.now < until:
        for owner in world.serving():
            if owner is not than:
                return owner
        world.clock.run(0.25)
    world.referee.broken("late", f"nobody has taken over within {within} s")
    raise AssertionError


def front_dies(world: FleetWorld) -> None:
    """Viewers come back over another front, by their cursors."""
    _begin(world)
    for seat in world.seats:
        world.leave(seat)
    _end(world)
    if world.referee.counts["resets"]:
        world.referee.broken("lost", "a viewer had to begin again")


def owner_dies(world: FleetWorld) -> None:
    """A new process on the node goes on with its file."""
    owner = _begin(world)
    for node in world.nodes:
        node.is_gone = node is not owner.node
    owner.die()
    successor = _other(world, owner, TAKEOVER_SECONDS)
    if successor.term != owner.term + 1:
        world.referee.broken("terms", f"{successor.term} follows {owner.term}")
    _end(world)


def node_dies(world: FleetWorld) -> None:
    """Another node has the session within its bound, with all of its log."""
    owner = _begin(world)
    owner.node.is_gone = True
    owner.die()
    _other(world, owner, TAKEOVER_SECONDS)
    _end(world)


def owner_stops(world: FleetWorld) -> None:
    """An owner that was stopped beyond its record's expiry writes and shows nothing more."""
    owner = _begin(world)
    owner.suspend(30.0)
    _other(world, owner, 25.0)
    _go_on(world)
    world.clock.run(40.0)
    if not owner.is_over:
        world.referee.broken("terms", "the owner that was stopped goes on")
    _end(world)


def owner_is_cut(world: FleetWorld) -> None:
    """An owner without a broker shows nothing new, and ends once it hears of its successor."""
    owner = _begin(world)
    world.cut(owner.node, 40.0)
    _other(world, owner, 25.0)
    world.clock.run(45.0)
    if not owner.is_over:
        world.referee.broken("terms", "the owner that was cut off goes on")
    _end(world)


def owner_is_cut_for_a_moment(world: FleetWorld) -> None:
    """An owner that nobody has replaced goes on, and says so."""
    owner = _begin(world)
    world.cut(owner.node, 9.0)
    owner.from_agent([world.update()])
    world.clock.run(15.0)
    replication = owner.replication
    if owner.is_over or replication is None or not replication.is_settled:
        world.referee.broken("late", "the owner ended, or does not go on")
    if not world.referee.counts["stalled"]:
        world.referee.broken("late", "the owner did not say what happened")
    _end(world)


def leader_dies(world: FleetWorld) -> None:
    """There is a hole, and then everything that came meanwhile."""
    owner = _begin(world)
    world.broker.away_until = world.clock.now + 5.0
    owner.from_agent([world.update()])
    world.clock.run(10.0)
    replication = owner.replication
    if owner.is_over or replication is None or replication.behind:
        world.referee.broken("late", "it is not replicated 5 s after the leader is back")
    _end(world)


def tail_is_lost(world: FleetWorld) -> None:
    """The owner publishes again what the broker has lost."""
    owner = _begin(world)
    world.clock.run(1.0)
    world.broker.lose_tail(2)
    owner.from_agent([world.update()])
    world.clock.run(10.0)
    if owner.is_over:
        world.referee.broken("late", "the owner ended")
    _end(world)


def tail_is_anothers(world: FleetWorld) -> None:
    """An owner whose acknowledged messages are lost gives way to one that has not seen them."""
    owner = _begin(world)
    world.clock.run(1.0)
    owner.suspend(35.0)
    world.broker.lose_tail(2)
    _other(world, owner, 25.0)
    world.clock.run(30.0)
    if not owner.is_over:
        world.referee.broken("terms", "the owner that was stopped goes on")
    _end(world)


def acknowledgement_is_lost(world: FleetWorld) -> None:
    """The last message shows that the batch was stored."""
    owner = _begin(world)
    world.clock.run(1.0)
    counts = world.referee.counts
    before, last = counts["entries"], world.broker.end.last
    world.broker.lost_answers = 1
    owner.from_agent([world.update()])
    world.clock.run(7.0)
    if counts["entries"] - before != world.broker.end.last - last or world.broker.end.last == last:
        world.referee.broken("double", "the batch was stored again, or not at all")
    _end(world)


def both_copies_are_gone(world: FleetWorld) -> None:
    """Viewers begin again, in a new epoch."""
    owner = _begin(world)
    owner.node.is_gone = True
    owner.node.file = None
    owner.die()
    world.broker.lose_all()
    _other(world, owner, TAKEOVER_SECONDS)
    world.rest()
    cursors = [seat for seat in world.seats if seat.cursor is not None]
    if len({seat.epoch for seat in cursors} - {"e1"}) != bool(cursors):
        world.referee.broken("lost", "the epoch is the same")


RULES: dict[str, Callable[[FleetWorld], None]] = {
    rule.__name__: rule
    for rule in (
        front_dies,
        owner_dies,
        node_dies,
        owner_stops,
        owner_is_cut,
        owner_is_cut_for_a_moment,
        leader_dies,
        tail_is_lost,
        tail_is_anothers,
        acknowledgement_is_lost,
        both_copies_are_gone,
    )
}
