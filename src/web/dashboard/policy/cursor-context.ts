/** What is around the cursor in a policy, where a word of its structure is written. */
export interface CursorContext {
  /** The keys above, the outermost first. */
  readonly parents: readonly string[]
  /** The key whose value is written; empty where a key is. */
  readonly key: string
  /** The type of the action around the cursor, if it is known. */
  readonly actionType: string | undefined
  readonly word: string
}
