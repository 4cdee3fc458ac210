/** Callers: their rights, sessions, tenants, limits and quotas. */
import './callers/rights.js';
import './callers/sessions.js';
import './callers/tenants.js';
import './callers/redaction.js';
import './callers/limits.js';
import './callers/usage.js';
