"""What a receiver gets: a webhook's JSON, its template, and ntfy's message."""

from __future__ import annotations

import json

import pytest

from lastword.notify.http import Template, ntfy_body, webhook_body
from lastword.notify.notification import (
    Notification,
    NotificationAction,
    NotifiedEvent,
    NotifyError,
    Urgency,
)
from lastword.notify.web_push import message_of

ODD = 'a "quote", a \\ backslash\nand a line'
QUESTION = Notification(
    notification_id="n1",
    at_epoch_ms=5,
    event=NotifiedEvent.ASK,
    session="s",
    agent="An Agent",
    title="An Agent needs an answer",
    sentence=ODD,
    link="https://gw.example/?code=c",
    actions=(NotificationAction("Allow", "https://gw.example/answer#secret"),),
    urgency=Urgency.HIGH,
    others=2,
)


def test_a_webhook_gets_every_member() -> None:
    body = json.loads(webhook_body(QUESTION))
    assert body.pop("type") == "lastword.notification"
    assert body.pop("version") == 1
    assert set(body) == set(Notification.__struct_fields__)
    assert body["actions"] == [{"label": "Allow", "url": "https://gw.example/answer#secret"}]


def test_ntfy_gets_a_message_with_buttons_and_no_code_in_an_address() -> None:
    body = json.loads(ntfy_body(QUESTION, "my-topic"))
    assert body == {
        "topic": "my-topic",
        "title": "An Agent needs an answer",
        "message": f"{ODD} (2 notifications left out before)",
        "priority": 4,
        "tags": ["question"],
        "click": "https://gw.example/?code=c",
        "actions": [
            {
                "action": "http",
                "label": "Allow",
                "url": "https://gw.example/answer",
                "method": "POST",
                "headers": {"Content-Type": "text/plain"},
                "body": "secret",
                "clear": True,
            }
        ],
    }

    for event in NotifiedEvent:
        plain = Notification(notification_id="n", at_epoch_ms=0, event=event)
        body = json.loads(ntfy_body(plain, "t"))
        assert set(body) == {"topic", "title", "message", "priority", "tags"}, event


def test_a_browser_is_told_how_many_were_left_out() -> None:
    assert json.loads(message_of(QUESTION))["body"] == f"{ODD} (2 notifications left out before)"


def test_a_json_templates_values_stay_within_their_strings_or_are_json_values() -> None:
    template = Template('{"*{title}*\\"": "{sentence}", "say": {sentence}, "all": {actions}}')
    assert template.content_type == "application/json"
    assert json.loads(template.render(QUESTION)) == {
        '*An Agent needs an answer*"': ODD,
        "say": ODD,
        "all": [{"label": "Allow", "url": "https://gw.example/answer#secret"}],
    }


def test_a_text_template_has_the_values_as_they_are() -> None:
    template = Template("{title}\n{sentence} {} { brace }")
    assert template.content_type.startswith("text/plain")
    assert template.render(QUESTION).decode() == f"An Agent needs an answer\n{ODD} {{}} {{ brace }}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{title}\nwith {colour}", r"no field \{colour\} \(line 2, column 6\)"),
        ('{"text": "{title}",\n nonsense}', r"once its fields are filled in \(line 2, column"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(NotifyError, match=problem):
        Template(text)
