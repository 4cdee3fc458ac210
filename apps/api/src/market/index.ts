/** The market without a framework. The worker, tests and other programs import it as `@mortise/api/market`. */
export {
  AlreadySoldError,
  FundsOverflowError,
  InsufficientFundsError,
  InvalidCursorError,
  InvalidIdError,
  ItemListedError,
  ItemTakenError,
  ListingExpiredError,
  MarketFullError,
  MarketRefusal,
  NotOpenError,
  NotOwnerError,
  NotSellerError,
  OutboxFullError,
  OwnListingError,
  PriceChangedError,
  RequestReusedError,
  StaleTokenError,
  UnknownItemError,
  UnknownListingError,
  UnknownPlayerError,
} from './errors.js';
export { ID } from './ids.js';
export type { MailAddress } from './mail-address.js';
export { InvalidMailAddressError, isMailAddress, isMailDomain, parseMailAddress } from './mail-address.js';
export type { MailTasks } from './mail-tasks.js';
export { MAIL_ATTEMPTS, MAIL_PRIORITIES, MAIL_QUEUE, MAIL_TASKS } from './mail-tasks.js';
export { Market } from './market.js';
export type { MarketEvent } from './market-events.js';
export type { MarketTasks } from './market-tasks.js';
export { expiredMailId, MARKET_QUEUE, MARKET_TASKS, tasksOf } from './market-tasks.js';
export type { MarketOptions } from './options.js';
export { DEFAULTS, MAX_COINS } from './options.js';
export { PLAYER_NAME } from './profile.js';
export { lockNameOf } from './listing-lock.js';
export type {
  Listing,
  ListingRef,
  ListingSort,
  Offer,
  Order,
  Outcome,
  Page,
  PageRequest,
  Player,
  Profile,
  Receipt,
  Strategy,
  Timed,
} from './types.js';
export { STRATEGIES } from './types.js';
