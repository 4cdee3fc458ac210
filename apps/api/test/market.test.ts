/** The market: its methods and routes, its events and figures, and random trade against a model. */
import './market/market.js';
import './market/http.js';
import './market/model.js';
import './market/events.js';
import './market/figures.js';
import './market/trade.js';
