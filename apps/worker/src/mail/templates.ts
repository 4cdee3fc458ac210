import { line, markup } from './escape.js';

/** The content of a mail, as text and as HTML. */
export interface Content {
  /** One line. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface SoldFacts {
  readonly saleId: string;
  readonly sellerName: string;
  readonly buyerName: string;
  readonly itemId: string;
  /** Whole coins. */
  readonly price: number;
}

/** Whole coins, in words. */
function coinsOf(price: number): string {
  return price === 1 ? '1 coin' : `${price.toLocaleString('en-US')} coins`;
}

/** Tells the seller the item, the buyer and the price. */
export function sold({ saleId, sellerName, buyerName, itemId, price }: SoldFacts): Content {
  const coins = coinsOf(price);
  const subject = line`Sold: ${itemId} for ${coins}`;
  return {
    subject,
    text: line`Hello ${sellerName},

${buyerName} bought your item ${itemId} for ${coins}.
The coins are yours already.

Sale ${saleId}
`,
    html: markup`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${subject}</title></head>
<body>
<p>Hello ${sellerName},</p>
<p>${buyerName} bought your item <strong>${itemId}</strong> for <strong>${coins}</strong>.
The coins are yours already.</p>
<p><small>Sale ${saleId}</small></p>
</body>
</html>
`.html,
  };
}

export interface ExpiredFacts {
  readonly sellerName: string;
  readonly itemId: string;
  /** Whole coins. */
  readonly price: number;
}

/** Tells the seller that an item was not sold and has returned. */
export function expired({ sellerName, itemId, price }: ExpiredFacts): Content {
  const coins = coinsOf(price);
  const subject = line`Not sold: ${itemId}`;
  return {
    subject,
    text: line`Hello ${sellerName},

nobody bought your item ${itemId} for ${coins} in time.
It is in your inventory again.
`,
    html: markup`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${subject}</title></head>
<body>
<p>Hello ${sellerName},</p>
<p>nobody bought your item <strong>${itemId}</strong> for <strong>${coins}</strong> in time.
It is in your inventory again.</p>
</body>
</html>
`.html,
  };
}

export interface ResetFacts {
  readonly requestId: string;
  readonly playerName: string;
}

/** Tells a player how to choose a new password. It contains no secret: the game asks the player for one. */
export function passwordReset({ requestId, playerName }: ResetFacts): Content {
  const subject = 'Choose a new password';
  return {
    subject,
    text: line`Hello ${playerName},

somebody asked for a new password of your account. If it was you, choose it
in the game within half an hour. If it was not, nothing has changed.

Request ${requestId}
`,
    html: markup`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${subject}</title></head>
<body>
<p>Hello ${playerName},</p>
<p>somebody asked for a new password of your account. If it was you, choose it
in the game within half an hour. If it was not, nothing has changed.</p>
<p><small>Request ${requestId}</small></p>
</body>
</html>
`.html,
  };
}
