"""Messages of providers, clouds and agents that require another login, key or country."""

from __future__ import annotations

from lastword.core.classify.text import rows

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
    credential is invalid
    credentials are invalid
    credential is not valid
    credentials provided are
    invalid token
    access token invalid
    no longer valid
    invalid api token
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
    must be logged in
    need to log in
    log in to continue
    sign in to continue
    refresh token
    refresh_token
    refreshing token
    token refresh
    refresh oauth
    refresh the access token
    refresh access token
    re-authenticate
    reauthorize
    re-login
    relogin
    log back in
    not available for this account
    not available to this account
    not available for your account
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
    does not have access to
    must be verified
    denied on resource
    organization has been restricted
    oauth authentication is
    error code: 1020
    reauthenticat
    explicit deny
    key was reported as leaked
    virtual key expected
    not allowed to access this
    api has not been used in project
    disabled the organization
    organization has been disabled
    organization has disabled
    account has been deactivated
    account is not active
    account has been disable
    account has been suspended
    account is suspended
    account .. suspended
    insufficient authentication scopes
    proxy authentication required
    requires authentication
    can only be used from within
    only authorized for
    can only be used with
    only available for coding agents
    blocked by upstream
    returned 401
    returned status 401
    ip .. not allowed
    not from an approved
    private endpoint
    blocked by cloudflare
""")
