/** The contract between the API, which enqueues mails, and the worker, which sends them. */
export const MAIL_QUEUE = 'mail';

/** Strict: a sale is told before anything that advertises. */
export const MAIL_PRIORITIES = ['high', 'medium', 'low'] as const;

export type MailTasks = {
  /** Tells the seller. The id of the task is the id of the sale. */
  'mail.sold': { sellerId: string; itemId: string; price: number; buyerId: string };
};
