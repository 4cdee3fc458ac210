/** Queues, schedules and claims over HTTP. */
import './queues/queues.js';
import './queues/schedules.js';
import './queues/claims.js';
import './queues/steps.js';
import './queues/flows.js';
import './queues/operations.js';
import './queues/request-headers.js';
