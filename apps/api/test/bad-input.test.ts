/** A wrong request gets a problem of a stable type, and changes nothing: the cases of each area, at one API. */
import './bad-input/http.js';
import './bad-input/queues.js';
import './bad-input/locks.js';
import './bad-input/messaging.js';
import './bad-input/autocomplete.js';
import './bad-input/files.js';
import './bad-input/every-route.js';
import './bad-input/market.js';
