/** The words that may follow a command: subcommands and flags. */
export interface CompletionNode {
  /** The words of the command, `''` for the program itself. */
  readonly path: string
  readonly words: readonly string[]
}

/** Completion nodes of commands that are declared as a flat list of words and flags. */
export function toCompletionNodes(
  prefix: string,
  commands: readonly { readonly words: readonly string[]; readonly flags: readonly string[] }[],
): CompletionNode[] {
  const nodes = new Map<string, Set<string>>()
  const add = (path: readonly string[], words: readonly string[]) => {
    const key = [prefix, ...path].join(' ')
    nodes.set(key, new Set([...(nodes.get(key) ?? []), ...words]))
  }
  for (const { words, flags } of commands) {
    for (const [index, word] of words.entries()) add(words.slice(0, index), [word])
    add(
      words,
      flags.map((flag) => `--${flag}`),
    )
  }
  return [...nodes].map(([path, words]) => ({ path, words: [...words] }))
}
