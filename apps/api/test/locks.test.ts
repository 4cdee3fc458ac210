/** Locks, semaphores and rate limits over HTTP. */
import './locks/locks.js';
import './locks/semaphores.js';
import './locks/odd-state.js';
import './locks/other-kinds.js';
