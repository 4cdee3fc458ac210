/** The server: its answers, its edge, what it refuses, its document and its console. */
import './http/answers.js';
import './http/edge.js';
import './http/request-checks.js';
import './http/openapi.js';
import './http/console.js';
import './http/lost-replies.js';
import './http/webhooks.js';
