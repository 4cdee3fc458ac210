/** As TypeScript compiles `export default` to CommonJS. */
Object.defineProperty(exports, '__esModule', { value: true });
exports.default = (payload) => payload * 2;
