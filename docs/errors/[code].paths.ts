/** The pages that messages of errors link to: `/errors/ERR_LOCK_TIMEOUT`. */
import { errorPages } from '../../tooling/docs/src/reference/error-pages.js';

export default {
  paths: () => Array.from(errorPages(), ([code, { text }]) => ({ params: { code }, content: text })),
};
