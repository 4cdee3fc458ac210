export { stopOnSignal } from './stop-on-signal.js';
