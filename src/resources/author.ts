import { type Pointer, reference, text } from './schema/value.ts'

const noPointers = (): Pointer[] => []

/** The id of the user or bot who wrote a record. It does not keep them from being deleted. */
export const authorId = text(64)

/** The same, returned as a Ref. */
export const author = <K extends string>(key: K) => ({
  ...reference(['usr', 'bot'], key),
  pointers: noPointers,
})
