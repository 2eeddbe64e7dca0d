/** A place of a policy where a word of its structure is written. */
export interface Place {
  /** The keys above, the outermost first. */
  readonly parents: readonly string[]
  /** The key whose value is written; empty where a key is. */
  readonly key: string
  /** The type of the action around the place, if it is known. */
  readonly actionType: string | undefined
  readonly word: string
}
