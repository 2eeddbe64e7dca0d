/** A value, or the promise of one. Callers that can stay synchronous check with `instanceof Promise` first. */
export type MaybePromise<T> = T | Promise<T>
