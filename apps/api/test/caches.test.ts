/** Caches, cached rows and aggregates over HTTP. */
import './caches/entries.js';
import './caches/changes.js';
import './caches/loads.js';
import './caches/rows-and-aggregates.js';
