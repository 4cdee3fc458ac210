/** Prints the names that each entry exports to `require`. */
for (const entry of process.argv.slice(2)) {
  const names = Object.keys(require(entry)).filter(
    (name) => name !== '__esModule' && name !== 'module.exports',
  );
  console.log(entry, names.toSorted().join(' '));
}
