/** Prints the names that each entry exports to `import`. */
for (const entry of process.argv.slice(2)) {
  const names = Object.keys(await import(entry)).filter((name) => name !== 'module.exports');
  console.log(entry, names.toSorted().join(' '));
}
