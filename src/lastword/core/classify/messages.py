"""Sentences that decide over the HTTP status, whichever provider wrote them.

Providers report an empty account as 400, 401, 402, 403, 422 and 429, so the status alone is often
wrong. A row is a lower-case part of a message; ` .. ` inside it stands for up to 100 characters of
anything. To teach the classifier a new sentence, add the part of it that no other failure shares.
`UNLESS` names what turns a type's sentences off.
"""

from __future__ import annotations

from lastword.core.classify.text import rows
from lastword.core.taxonomy import ErrorType

CONTEXT_OVERFLOW = rows("""
    prompt is too long
    prompt too long
    prompt was too long
    input is too long
    input too long
    context too long
    context is too long
    conversation is too long
    conversation too long
    request too large
    request is too large
    request body too large
    request body is too large
    request entity too large
    payload too large
    content too large
    too large for model
    too large to compact
    too many tokens:
    maximum context length
    maximum prompt length
    maximum context size
    maximum sequence length
    maximum model length
    maximum input length
    max context length
    max_seq_len
    max_model_len
    context length exceed
    context length is exceed
    context length was exceed
    context window exceed
    context size exceed
    context limit exceed
    context limit reached
    context size has been exceeded
    context window is full
    context overflow
    context the overflows
    context_length_exceeded
    exceed .. context limit
    exceed .. context window
    exceed .. context length
    exceed .. context size
    exceed .. maximum number of tokens
    exceed .. maximum allowed input
    exceed .. input token limit
    exceed .. model token limit
    exceed .. maximum input
    exceeds the available context
    greater than the context length
    larger than .. context
    longer than .. context
    longer than the maximum
    ran out of room in the model's context
    prompt token count of .. exceed
    prompt exceeds max
    input token count .. exceed
    input tokens exceed
    input length .. exceed
    input exceeds the maximum
    input exceeds maximum
    current length is .. while limit is
    reduce the length of
    reduce your message size
    reduce the size of your
    reduce your prompt
    shorten your prompt
    input or output tokens must be reduced
    range of input length should be
    must have less than .. tokens
    tokens + `max_new_tokens` must be
    number of tokens in the prompt
    max_tokens must be at least 1, got -
    free space in the kv cache
    string too long. expected
    request exceeds the maximum size
    request size exceed
    compaction failed
    too long for the model
""")

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
    sensitive words
    new_sensitive
    content exists risk
    content moderation
    moderation policy
    blocked by policy
    blocked by our
    blocked .. guardrail
    guardrail intervened
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
    \u654f\u611f\u5185\u5bb9
    \u4e0d\u5b89\u5168
""")

BUDGET = rows("""
    exceeded .. monthly
    insufficient balance
    insufficient account balance
    insufficient credit
    insufficient fund
    insufficient_quota
    insufficient quota
    insufficient token quota
    credit balance
    account balance
    balance is insufficient
    balance is too low
    balance not enough
    negative balance
    out of credit
    no credits
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
    usage threshold
    usage limit reached
    usage limit exceeded
    usage limit has been reached
    reached your usage limit
    reached your .. usage limit
    reached the usage limit
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
    per day
    per-day
    per_day
    tokens per month
    requests per month
    limit_rpd
    limit_tpd
    (tpd)
    (rpd)
    tpd rate limit
    rpd rate limit
    tpd limit
    rpd limit
    have no quota
    no quota
    quota has been used
    quota used up
    exhausted your daily
    exhausted your monthly
    exceeded your premium
    free quota
    premium request
    free tier is not available
    free tier of the model has been exhausted
    free usage limit
    free usage has
    free limit
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
    \u4f59\u989d\u4e0d\u8db3
    \u6b20\u8d39
    \u5145\u503c
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
""")
"""Budget, unless a window under a day is named or a wait under the cap is asked for."""

MODEL_NOT_FOUND = rows("""
    model .. does not exist
    model .. doesn't exist
    model .. not found
    model .. was not found
    model .. is not supported
    model .. isn't supported
    model .. is not available
    model .. isn't available
    model .. not available
    model .. has been deprecated
    model .. has been decommissioned
    model .. has been retired
    model .. has been removed
    model .. been shut down
    model .. is deprecated
    model .. no longer available
    model .. no longer supported
    model not exist
    models/ .. is not found
    no such model
    no such languagemodel
    no model named
    unknown model
    unsupported model
    unrecognized model
    invalid model
    not a valid model
    model identifier is invalid
    model .. is not a valid
    not allowed to access model
    not have access to model
    no permission to use this model
    no access to model
    no access to this model
    model requires a subscription
    on-demand throughput isn't supported
    deployment .. does not exist
    deployment .. not found
    no endpoints found
    no allowed providers
    not available on your plan
    not included in your plan
    try pulling it first
    end of its life
    may not exist or you may not have access
    listmodels to see
    model_not_found
    \u6a21\u578b\u4e0d\u5b58\u5728
""")

AUTH = rows("""
    api key not valid
    invalid api key
    invalid api-key
    invalid api_key
    invalid x-api-key
    invalid_api_key
    incorrect api key
    wrong api key
    no api key
    missing api key
    missing api_key
    missing an api key
    api key is missing
    api key required
    api key is required
    api key is not set
    api key not found
    api key not configured
    api key expired
    api key is invalid
    api key has expired
    api key .. has been disabled
    api key .. was not found
    api key .. revoked
    apikey is invalid
    provide an api key
    provide a valid api key
    set the api key
    api_key .. must be set
    api_key client option must be set
    api_key .. not set
    could not resolve authentication
    authentication required
    authentication error
    authentication fail
    authentication token
    authentication credentials
    authentication parameter
    authentication is required
    failed to authenticate
    failed authentication
    not authenticated
    unauthenticated
    invalid authentication
    invalid authorization
    invalid access token
    invalid bearer token
    invalid credentials
    invalid token
    invalid oauth
    oauth token
    access token .. expired
    access token could not be
    token has expired
    token is expired
    token expired
    token is invalid
    token has been revoked
    expired token
    expired key
    security token included in the request
    signature we calculated does not match
    unable to locate credentials
    credentials were not found
    credentials not found
    credentials are not
    credentials are missing
    no credentials
    no cookie auth credentials
    could not load credentials
    could not load the default credentials
    unauthorized
    missing environment variable .. key
    missing authentication
    missing authorization
    missing bearer
    please run /login
    run /login
    please log in
    please login
    please sign in
    log in again
    sign in again
    signing in again
    not logged in
    not signed in
    login required
    login expired
    session expired
    session has expired
    user not found
    user location is not supported
    location is not supported
    region, or territory not supported
    unsupported country
    not available in your country
    not available in your region
    not available in your location
    restricted region
    you have been blocked
    does not have permission
    don't have permission
    do not have permission
    doesn't have permission
    lacks permission
    insufficient permission
    missing permission
    missing scopes
    required scope
    don't have access
    do not have access to
    access denied
    access forbidden
    permission denied on resource
    not authorized
    not allowed to access this
    api has not been used in project
    disabled the organization
    organization has been disabled
    organization has disabled
    account has been deactivated
    account is not active
    account has been disabled
    account has been suspended
    account is suspended
    account .. suspended
    insufficient authentication scopes
    proxy authentication required
    requires authentication
    ip .. not allowed
    blocked by cloudflare
    \u4ee4\u724c
""")

NETWORK = rows("""
    without sending complete message body
    incomplete chunked read
    error sending request for url
""")

PROVIDER_UNAVAILABLE = rows("""
    overloaded
    out of capacity
    at capacity
    over capacity
    capacity exceeded
    insufficient capacity
    no capacity
    capacity constraints
    capacity limits
    not enough capacity
    no provider available
    no available provider
    no available model provider
    no providers available
    no deployments available
    no available channel
    no healthy upstream
    no healthy deployment
    no instances available
    no available workers
    not ready to serve
    not ready yet
    loading model
    model is loading
    model is currently loading
    model is warming
    currently loading
    currently not available
    currently unavailable
    temporarily not available
    temporarily unavailable
    not available right now
    not available at the moment
    unavailable at the moment
    service unavailable
    service is unavailable
    service is not available
    experiencing high demand
    experiencing high traffic
    experiencing high load
    high load
    heavy load
    high volume of requests
    server busy
    server is busy
    servers are busy
    system is busy
    server is currently busy
    under maintenance
    scheduled maintenance
    trouble connecting to the model provider
    llama runner process
    model runner has unexpectedly
    model failed to load
    unable to load model
    requires more system memory
    cuda out of memory
    cuda error
    enginecore
    engine is dead
    engine loop is not running
    upstream connect error
    failed to connect to all addresses
    encountered an internal error
    internal error encountered
    internal error has occurred. please retry
    had an error while processing your request
    error occurred while processing your request
    unable to process your request
    bad gateway
""")

RATE_LIMIT = rows("""
    rate limit
    rate-limit
    rate_limit
    ratelimit
    rate exceeded
    too many requests
    too many tokens
    too many concurrent
    too many calls
    throttl
    requests per minute
    tokens per minute
    token per minute
    request per minute
    per-minute
    per_minute
    requests per second
    tokens per min
    requests per min
    (tpm)
    (rpm)
    max rpm
    max tpm
    limit_rpm
    limit_tpm
    rpm limit
    tpm limit
    qps limit
    cooling down
    rate increased too quickly
    resource has been exhausted
    resource exhausted
    resource_exhausted
    exhausted your capacity
    parallel request
    concurrent request
    concurrency limit
    max concurrency
    maximum concurrency
    in-flight spending budget
    requests too quickly
    requests too fast
    temporarily limiting requests
    ramp limit
    request limit reached
    limiting requests
    \u5e76\u53d1\u6570\u8fc7\u9ad8
    \u9650\u6d41
""")

TIMEOUT = rows("""
    gateway timeout
    gateway time-out
    deadline expired
    deadline exceeded
    took too long to process
    took too long to respond
    model timeout
    upstream request timeout
""")

STRONG = {
    ErrorType.CONTEXT_OVERFLOW: CONTEXT_OVERFLOW,
    ErrorType.CONTENT_FILTER: CONTENT_FILTER,
    ErrorType.BUDGET: BUDGET,
    ErrorType.MODEL_NOT_FOUND: MODEL_NOT_FOUND,
    ErrorType.AUTH: AUTH,
    ErrorType.NETWORK: NETWORK,
    ErrorType.PROVIDER_UNAVAILABLE: PROVIDER_UNAVAILABLE,
    ErrorType.RATE_LIMIT: RATE_LIMIT,
    ErrorType.TIMEOUT: TIMEOUT,
}

UNLESS = {
    ErrorType.BUDGET: rows("""
        in-flight
        not your usage limit
        allocated quota exceeded
    """),
    ErrorType.MODEL_NOT_FOUND: rows("""
        currently
        temporarily
        at the moment
        right now
        loading
        capacity
        overloaded
        try again later
        with this model
        parameter
        tool_choice
    """),
}

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
""")
PER_DAY = rows("""
    per day
    perday
    per_day
    per-day
    (tpd)
    (rpd)
    per month
    per_month
    permonth
    daily
    monthly
    weekly
""")

HOPELESS = frozenset({"requires more system memory"})
"""Rows of a retryable type that no retry helps."""
