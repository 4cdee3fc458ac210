export type { Finding } from './examine.js';
export { examine } from './examine.js';
