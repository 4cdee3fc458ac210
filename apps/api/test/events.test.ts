/** The stream of events: every topic, several topics at once, and over a WebSocket. */
import './events/topics.js';
import './events/several-topics.js';
import './events/socket.js';
