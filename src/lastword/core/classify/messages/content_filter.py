"""Messages of providers whose policy or filter blocked the prompt or the answer."""

from __future__ import annotations

from lastword.core.classify.text import rows

CONTENT_FILTER = rows("""
    content management policy
    content filter
    content_filter
    content policy
    content policies
    usage policy
    usage policies
    usage guidelines
    responsible ai
    safety system
    safety filter
    safety settings
    safety reasons. please
    safety check
    prohibited_content
    prohibited content
    flagged as potentially
    flagged by
    was flagged
    considered high risk
    inappropriate content
    sensitive content
    unsafe or sensitive
    unsafe content
    unsafe material
    contains unsafe
    containing unsafe
    sensitive words
    new_sensitive
    content exists risk
    content moderation
    moderation policy
    blocked by policy
    blocked by our
    blocked .. guardrail
    guardrail intervened
    guardrail checks
    sensitive information
    is censored
    was censored
    outputted is blocked
    prompt blocked
    prompt was blocked
    prompt has been blocked
    response was blocked
    response was filtered
    blocked due to safety
    blocked because of safety
    blocked for safety
    declined to respond
    violates our
    violate our
    terms of service violation
    inspection failed
""")
