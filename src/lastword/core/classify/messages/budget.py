"""Messages about used-up credits, spending caps or long windows, and which of these it was."""

from __future__ import annotations

from lastword.core.classify.text import rows

BUDGET = rows("""
    cooldown .. billing
    exceeded .. monthly
    insufficient balance
    insufficient account balance
    insufficient credit
    insufficient fund
    insufficient .. funds
    quota is not enough
    quota not enough
    pre-consumed quota failed
    insufficient_quota
    insufficient quota
    insufficient token quota
    credit balance
    account balance
    balance is insufficient
    balance is too low
    balance not enough
    not enough balance
    out of funds
    negative balance
    out of credit
    no credits
    any credits
    credit card
    not enough credit
    requires more credits
    more credits, or fewer
    can only afford
    add credits
    add more credits
    buy credits
    buy more credits
    purchase more credits
    purchase credits
    used all available credits
    used up your
    lacks credit
    credits have been exhausted
    credits exhausted
    credits are exhausted
    credits depleted
    credits are depleted
    credits have been depleted
    credit limit
    credits required
    ran out of credits
    run out of credits
    budget has been exceeded
    budget exceeded
    exceeded budget
    exceeded .. budget
    maximum budget
    max budget
    over budget
    spend limit
    spending limit
    spending cap
    spend cap
    key limit exceeded
    payment instrument
    payment_instrument
    usage threshold
    usage limit reached
    usage limit exceeded
    usage limit has
    reached your usage limit
    reached your .. usage limit
    reached the usage limit
    reached its usage limit
    reached their usage limit
    usage limit for
    exhausted .. usage limit
    exceeded .. usage limit
    hit your usage limit
    hit your session limit
    hit your weekly limit
    hit your monthly
    hit your daily
    hit your opus limit
    hit your limit
    5-hour limit
    5-hour window
    session limit reached
    weekly usage
    weekly .. limit
    weekly .. quota
    monthly .. limit
    monthly .. quota
    daily .. limit
    daily .. quota
    package .. expired
    plan .. expired
    monthly usage
    monthly included credits
    month's usage
    next billing
    daily usage
    daily free
    daily tokens
    tokens used up
    today's quota
    today's limit
    again tomorrow
    out of requests
    per day
    per 86400s
    per-day
    per_day
    / day
    calls/day
    requests/day
    tokens/day
    / month
    calls/month
    requests/month
    tokens/month
    per month
    requests per month
    limit_rpd
    limit_tpd
    (tpd)
    (rpd)
    tpd limit
    rpd limit
    _rpd
    _tpd
    tpd rate limit
    rpd rate limit
    for this month
    reached .. this month
    have no quota
    no quota
    quota has been used
    quota used up
    exhausted your daily
    exhausted your monthly
    exceeded your premium
    free quota
    free allocated quota
    premium request
    free tier is not available
    free tier of the model has been exhausted
    free usage limit
    free usage has
    free limit
    free tier limit
    free messages
    used all of your
    run out of .. requests
    ran out of .. requests
    usage-based pricing
    out of .. credits
    free trial
    trial has ended
    trial expired
    enable billing
    billing hard limit
    billing account
    billing is not active
    payment required
    payment method
    good standing
    in arrears
    overdue
    recharge
    top up
    top-up
    topping up
    request_limit of
    subscription .. expired
    expired .. subscription
    subscription has ended
    no active subscription
    upgrade for higher limits
    upgrade your plan
    out of extra usage
    extra usage is
""")

QUOTA = rows("""
    exceeded your current quota
    check your plan and billing
    check your billing
    billing details
    quota exhausted
    quota has been exhausted
    quota is exhausted
    exhausted your quota
    exceeded your quota
    quota exceeded
    quota limit exceeded
    service quota
    volume quota
    quota will reset
    out of quota
    quota .. reached
    quota violation
""")
"""Budget, unless a window under a day is named or a wait under the cap is asked for."""

PER_MINUTE = rows("""
    per minute
    perminute
    per_minute
    per-minute
    per second
    per_second
    persecond
    (tpm)
    (rpm)
    quota exceeded for aiplatform
""")
"""Windows that open again by themselves while one waits."""

PER_DAY = rows("""
    per day
    perday
    per_day
    per-day
    (tpd)
    (rpd)
    / day
    /day
    per month
    per_month
    permonth
    / month
    /month
    daily
    monthly
    weekly
""")
"""Windows that do not."""
