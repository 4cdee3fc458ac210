/** Locks and semaphores over HTTP. */
import './locks/locks.js';
import './locks/semaphores.js';
import './locks/odd-state.js';
