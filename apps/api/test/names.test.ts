/** Names: those that are accepted, those that are stored, and how pages see tasks. */
import './names/accepted.js';
import './names/stored.js';
