/** Files over HTTP: uploads, downloads, ranges, acks, receivers that come and go, and the memory that they take. */
import './files/downloads.js';
import './files/uploads.js';
import './files/memory.js';
