/** Mailboxes and chats over HTTP, and events over SSE and WebSocket. */
import './messaging/mailboxes.js';
import './messaging/chats.js';
import './messaging/commands.js';
import './messaging/events.js';
import './messaging/socket.js';
import './messaging/slow.js';
