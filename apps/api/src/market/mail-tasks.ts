/** The tasks of mails: the API and the worker enqueue them, the worker sends them. */
export const MAIL_QUEUE = 'mail';

/** Strict: a password reset precedes the mail of a sale, which precedes the mail of an expired listing. */
export const MAIL_PRIORITIES = ['high', 'medium', 'low'] as const;

export type MailTasks = {
  /** Tells players how to choose a new password; priority `high`. */
  'mail.password-reset': { playerId: string };
  /** Tells the seller; priority `medium`. The id of the task is the id of the sale. */
  'mail.sold': { sellerId: string; itemId: string; price: number; buyerId: string };
  /** Tells the seller that nobody has bought the item; priority `low`. */
  'mail.expired': { sellerId: string; itemId: string; price: number };
};

export const MAIL_TASKS = [
  'mail.password-reset',
  'mail.sold',
  'mail.expired',
] as const satisfies readonly (keyof MailTasks)[];

/** About nine hours, with the doubling backoff of the queue: a mail server that is down overnight loses no mail. */
export const MAIL_ATTEMPTS = 20;
