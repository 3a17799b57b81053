"""Machine-readable words, and the type that each one means.

A word is compared without regard to case, punctuation and a suffix such as `Error` or `Exception`,
so `rate_limit_error`, `RateLimitError` and `RATE-LIMIT` are one row. To teach the classifier a new
word, add it to its type's list, in any spelling.

`STRONG` words outrank the HTTP status. `WEAK` words are so often wrong or so broad
(`invalid_request_error` comes with half of all failures) that messages go first.
`GENERIC_CLASSES` are the SDK classes that say no more than the status does.
"""

from __future__ import annotations

from lastword.core.classify.text import names
from lastword.core.failure.taxonomy import ErrorType


def _table(rows: dict[ErrorType, str]) -> dict[ErrorType, frozenset[str]]:
    return {kind: names(block) for kind, block in rows.items()}


STRONG = _table({
    ErrorType.CONTEXT_OVERFLOW: """
        context_length_exceeded context_window_exceeded ContextWindowExceededError context_exceeded
        ContextOverflowError exceed_context_size_error model_max_prompt_tokens_exceeded
        context_too_long ContextTooLongError prompt_too_long PromptTooLong input_too_long
        request_too_large RequestTooLarge string_above_max_length max_tokens_exceeded
        tokens_limit_reached token_limit_exceeded model_context_window_exceeded
        max_context_length_exceeded context_limit_exceeded input_length_exceeded
        payload_too_large RequestEntityTooLarge compaction_failed context_window_overflow
        ContextWindowOverflowException ContextLengthExceededError input_tokens_exceeded""",
    ErrorType.CONTENT_FILTER: """
        content_filter ContentFilterError content_policy_violation ContentPolicyViolationError
        ResponsibleAIPolicyViolation bio_policy cyber_policy cyber_policy_violation invalid_prompt
        PROHIBITED_CONTENT BLOCKLIST SPII data_inspection_failed DataInspectionFailed
        moderation_blocked content_blocked content_policy safety_violation prompt_blocked
        GuardrailInterventionException GuardrailRaisedException InputGuardrailTripwireTriggered
        OutputGuardrailTripwireTriggered guardrail_intervened BlockedPromptException
        StopCandidateException RefusalError ModelRefusalError content_moderation sensitive_words
        ContentModerationError moderation_error flagged_content IMAGE_SAFETY risk_control
        prompt_shield_violation SAFETY RECITATION refusal jailbreak usage_policy_violation""",
    ErrorType.BUDGET: """
        insufficient_quota InsufficientQuotaError billing_error billing_hard_limit_reached
        billing_not_active budget_exceeded BudgetExceededError ExceededBudget quota_exceeded
        quota_exhausted QUOTA_EXHAUSTED INSUFFICIENT_G1_CREDITS_BALANCE insufficient_balance
        insufficient_credits insufficient_funds credits_exhausted CreditsError
        exceeded_current_quota_error usage_limit_reached usage_limit_exceeded UsageLimitExceeded
        UsageLimitError FreeUsageLimitError GoUsageLimitError SubscriptionUsageLimitError
        MonthlyLimitError UserLimitError enforced_spend_limit_reached spend_limit_reached
        spending_limit_reached linked_organization_spend_limit_reached
        project_spend_limit_exceeded organization_spend_limit_exceeded spend_limit_exceeded
        workspace_spend_limit_reached out_of_credits credit_balance_too_low
        account_on_hold session_budget_exceeded budget_exhausted error_max_budget_usd Arrearage
        ServiceQuotaExceededException PostpaidBillOverdue PrepaidBillOverdue CommodityNotPurchased
        AllocationQuota.FreeTierOnly payment_required PaymentRequiredError TerminalQuotaError
        plan_limit_reached monthly_limit_reached daily_limit_exceeded free_tier_exhausted
        openrouter_free_tier_daily usage_not_included workspace_owner_credits_depleted
        workspace_member_credits_depleted workspace_owner_usage_limit_reached
        workspace_member_usage_limit_reached rate_limit_exceeded_daily access_terminated_billing
        team_budget_exceeded max_budget_exceeded provider_budget_exceeded
        user_budget_exceeded BILLING_DISABLED AccountOverdueError
        ExceededTokenBudget MaxTurnsExceeded error_max_turns agent_mode_limit_exceeded
        INVALID_PAYMENT_INSTRUMENT QuotaExceeded out_of_balance""",
    ErrorType.MODEL_NOT_FOUND: """
        model_not_allowed model_restricted model_not_enabled model_disabled
        model_not_found ModelNotFoundError ModelNotFound model_not_supported unsupported_model
        invalid_model InvalidModel model_not_available model_unavailable_for_account
        deployment_not_found DeploymentNotFound key_model_access_denied team_model_access_denied
        user_model_access_denied org_model_access_denied project_model_access_denied
        NoSuchModelError NoSuchProviderError unknown_model Model.AccessDenied Model.NotFound
        model_access_denied model_decommissioned model_deprecated model_terms_required
        ProviderModelNotFoundError GatewayModelNotFoundError InvalidEndpointOrModel.NotFound
        ModelNotOpen InvalidEndpoint.NotFound model_not_exist model_does_not_exist
        GatewayModelNotFound""",
    ErrorType.AUTH: """
        authentication_error authentication_failed invalid_api_key InvalidApiKey API_KEY_INVALID
        ApiKeyInvalid api_key_invalid invalid_authentication_error invalid_authentication
        unauthorized UNAUTHENTICATED unauthenticated permission_error permission_denied
        access_denied AccessDeniedException AccessDenied request_forbidden forbidden
        unsupported_country_region_territory organization_on_hold expired_key key_expired
        token_expired expired_token ExpiredTokenException ExpiredToken token_not_found_in_db
        auth_error no_api_key missing_api_key LoadAPIKeyError oauth_org_not_allowed
        verification_required cloud_credential_error invalid_token invalid_grant invalid_client
        UnrecognizedClientException InvalidSignatureException IncompleteSignatureException
        SignatureDoesNotMatch InvalidClientTokenId MissingAuthenticationTokenException
        NotAuthorizedException NoCredentialsError PartialCredentialsError CredentialRetrievalError
        TokenRetrievalError UnauthorizedSSOTokenError SSOTokenLoadError ProfileNotFound
        TokenRefreshRequired DefaultCredentialsError RefreshError ProviderAuthError
        GatewayAuthenticationError API_KEY_SERVICE_BLOCKED API_KEY_HTTP_REFERRER_BLOCKED
        CONSUMER_SUSPENDED SERVICE_DISABLED ACCESS_TOKEN_EXPIRED ACCESS_TOKEN_SCOPE_INSUFFICIENT
        account_deactivated account_suspended organization_deactivated not_authorized
        invalid_organization mismatched_project ip_not_authorized login_required AuthError
        auth_unavailable ProxyAuthenticationRequired workspace_suspended invalid_iam_token
        OptInRequired organization_restricted ModelAuthenticationError CREDENTIALS_MISSING
        ACCESS_TOKEN_TYPE_UNSUPPORTED ModelPermissionDeniedError""",
    ErrorType.NETWORK: """
        MidStreamFallbackError stream_disconnected transport_lost connection_lost
        incomplete_tool_call upstream_disconnected""",
    ErrorType.PROVIDER_UNAVAILABLE: """
        overloaded_error overloaded OverloadedError engine_overloaded_error server_overloaded
        service_unavailable ServiceUnavailableException ServiceUnavailable UNAVAILABLE
        unavailable_error capacity_exceeded ModelNotReadyException ModelErrorException
        ModelStreamErrorException model_overloaded model_loading provider_unavailable
        model_unavailable service_unavailable_error no_provider_available bad_gateway
        BadGatewayError InternalServerException internal_server_error server_error
        cmek_key_unreachable temporarily_unavailable upstream_error upstream_unavailable
        internal_server ModelServingError ModelServiceFailed api_overloaded
        InternalFailure CapacityExceeded insufficient_capacity OutOfCapacity
        server_is_overloaded ServerOverloaded ModelUnavailableError ModelOverloadedError
        GatewayInternalServerError queue_exceeded DependencyFailedException""",
    ErrorType.RATE_LIMIT: """
        rate_limit_error rate_limit rate_limited rate_limit_exceeded RATE_LIMIT_EXCEEDED
        rateLimitExceeded rate_limit_reached_error too_many_requests TooManyRequestsException
        ThrottlingException throttling throttling_error ThrottledException Throttling.RateQuota
        Throttling.BurstRate Throttling.AllocationQuota Throttling.User throttled
        RequestLimitExceeded resource_exhausted RESOURCE_EXHAUSTED ResourceExhausted
        ramp_limit_exceeded model_rate_limited model_cooldown LimitRequests limit_requests
        limit_burst_rate openrouter_in_flight_budget concurrency_limit_exceeded
        concurrent_requests GatewayRateLimitError ModelRateLimitError
        ProvisionedThroughputExceededException
        requests_rate_limit_exceeded tokens_rate_limit_exceeded request_limit_reached
        acceleration_limit_exceeded user_rate_limited user_global_rate_limited
        user_model_rate_limited integration_rate_limited
        request_quota_exceeded key_rate_limited RequestThrottled""",
    ErrorType.TIMEOUT: """
        timeout_error timeout request_timeout RequestTimeout gateway_timeout GatewayTimeoutError
        DEADLINE_EXCEEDED DeadlineExceeded ModelTimeoutException timed_out TimeoutError
        InternalError.Timeout request_timed_out idle_timeout stream_timeout
        GatewayTimeout RequestTimeoutException ModelTimeoutError upstream_timeout""",
})  # fmt: skip

WEAK = _table({
    ErrorType.MODEL_NOT_FOUND: """
        not_found_error not_found NotFoundError NotFoundException ResourceNotFoundException""",
    ErrorType.INVALID_REQUEST: """
        invalid_request_error invalid_request InvalidRequestError invalid_argument INVALID_ARGUMENT
        ValidationException validation_error bad_request_error BadRequest bad_request BAD_REQUEST
        invalid_request_body invalid_body bad_request_body provider_bad_request
        invalid_parameter InvalidParameter invalid_params invalid_value invalid_type
        missing_required_parameter unknown_parameter unsupported_parameter unsupported_value
        invalid_function_parameters FAILED_PRECONDITION FailedPrecondition OUT_OF_RANGE
        unprocessable_entity UnprocessableEntityError malformed_request MissingSessionID
        claude_code_version_too_old extra_forbidden parameter_error UnsupportedParamsError
        InvalidArgumentError UnsupportedFunctionalityError ParamValidationError
        UnsupportedOperation UNIMPLEMENTED method_not_allowed conflict InvalidMessageRoleError
        GatewayInvalidRequestError JSONSchemaValidationError invalid_json max_output_tokens
        InvalidParameterException InvalidRequest LoadSettingError MessageConversionError
        MissingToolResultsError InvalidDataContentError UND_ERR_INVALID_ARG
        previous_response_not_found ModelInvalidRequestError""",
    ErrorType.PROVIDER_UNAVAILABLE: """
        api_error INTERNAL internal_error InternalServerError InternalError SystemError
        unknown_provider_error DATA_LOSS ABORTED""",
})  # fmt: skip

PARTS: dict[ErrorType, tuple[str, ...]] = {
    ErrorType.CONTEXT_OVERFLOW: (
        *("contextlength", "contextwindow", "contextsize", "contextlimit", "contextoverflow"),
        *("toolong", "toomanytokens", "inputtokens", "prompttokens", "contenttoolarge"),
    ),
    ErrorType.CONTENT_FILTER: (
        *("contentfilter", "contentpolicy", "contentmoderat", "sensitive", "censor", "moderation"),
        *("safety", "guardrail", "inappropriate", "policyviolation", "usagepolicy"),
    ),
    ErrorType.BUDGET: (
        *("insufficientbalance", "insufficientquota", "insufficientcredit", "insufficientfund"),
        *("billing", "payment", "arrear", "overdue", "quotareached", "quotaexceed", "quotaexhaust"),
        *("spendlimit", "spendinglimit", "budget", "usagelimit", "dailylimit", "monthlylimit"),
        *("creditlimit", "outofcredit", "creditsexhaust", "balancenotenough", "lowbalance"),
        *("notenoughbalance", "notenoughcredit", "outoffunds"),
    ),
    ErrorType.MODEL_NOT_FOUND: (
        *("modelnotfound", "modelnotexist", "modelnotsupport", "unsupportedmodel", "invalidmodel"),
        *("modelaccess", "modeldeprecat", "endpointnotfound", "deploymentnotfound", "unknownmodel"),
        *("modelnotavailable", "modelunavailable", "modelretired", "modelgated"),
    ),
    ErrorType.AUTH: (
        *("authfail", "authentication", "unauthorized", "unauthenticated", "apikey", "credential"),
        *("accesstoken", "permission", "forbidden", "accessdenied", "signature", "tokenexpired"),
        *("loginrequired", "notloggedin", "unauthoriz", "invalidkey", "wrongkey"),
        *("failedtoauth", "accessdeny"),
    ),
    ErrorType.INVALID_REQUEST: ("notsupported", "unsupported", "validationfail", "invalidinput"),
    ErrorType.PROVIDER_UNAVAILABLE: (
        *("overload", "unavailable", "capacity", "serverbusy", "maintenance", "modelloading"),
        "enginedead",
    ),
    ErrorType.RATE_LIMIT: (
        *("ratelimit", "toomanyrequest", "throttl", "limitexceed", "concurren", "toofast"),
        *("requestlimit", "qpslimit", "tpmlimit", "rpmlimit", "toofrequent"),
    ),
    ErrorType.TIMEOUT: ("timeout", "timedout", "deadline"),
}
"""Parts of words that no list has: `token_quota_reached`, `AuthFailure.SecretIdNotFound`."""

GENERIC_CLASSES = names("""
    BadRequestError NotFoundError RateLimitError PermissionDeniedError PermissionError
    InternalServerError AuthenticationError APIStatusError ServiceUnavailableError
    UnprocessableEntityError ConflictError APIError APIConnectionError Timeout TimeoutError
    ServiceUnavailable TooManyRequests Forbidden Unauthorized BadGateway GatewayTimeout
    ResourceExhausted PermissionDenied InvalidArgument FailedPrecondition NotFound
    InvalidRequestError InternalError ServerError InvalidPromptError""")
"""Exception classes that an SDK derives from the status alone: looked at after everything else."""

LISTED = GENERIC_CLASSES.union(*WEAK.values())
"""Words that have a meaning of their own, whatever they are made of: `extra_forbidden`."""

VAGUE = names("""
    server_error internal_server_error internal_server upstream_error upstream_unavailable api_error
    INTERNAL internal_error InternalError SystemError unknown_provider_error InternalServerError""")
"""Words for "something broke".

A transport failure told beside them says more (claude does so), and so does a status that is
decisive: a gateway writes `server_error` over whatever came from behind it.
"""

LONG_INPUT = names("token_limit_exceeded tokens_limit_reached max_tokens_exceeded")
"""Words for too many tokens: with a 429, too many in a minute."""

PASSING = VAGUE | names("""
    ThrottlingException throttled TooManyRequestsException too_many_requests rate_limit_error
    rate_limit_exceeded rate_limited RequestLimitExceeded RESOURCE_EXHAUSTED overloaded_error
    service_unavailable UNAVAILABLE unavailable_error timeout""")
"""Wide words for what passes by itself: beside a 402, which asks for money, they say nothing."""

WINDOW_WORDS = {
    "perday": (ErrorType.BUDGET, "daily_quota"),
    "permonth": (ErrorType.BUDGET, "monthly_quota"),
    "perminute": (ErrorType.RATE_LIMIT, "per_minute"),
    "persecond": (ErrorType.RATE_LIMIT, "per_second"),
}
"""Parts of a quota's id (`GenerateRequestsPerDayPerProject...`) -> type and reason."""


def weak_type(word: str) -> ErrorType | None:
    """Return the type of a weak word that blames the request, else None."""
    for kind in (ErrorType.MODEL_NOT_FOUND, ErrorType.INVALID_REQUEST):
        if word in WEAK[kind]:
            return kind
    return None
