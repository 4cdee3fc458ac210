import { startApi } from '../fixture/api.js';

/** For the tests of mailboxes and chats, whose names differ. */
export const api = await startApi();
