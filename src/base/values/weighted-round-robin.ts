/** The highest weight that users can give. */
export const MAX_WEIGHT = 10_000

/** Something that is picked in proportion to its weight. */
export interface WeightedCandidate {
  readonly weight: number
  /** Accumulated credit; the one with the most is picked next. */
  credit: number
}

/**
 * Smooth weighted round robin: over one full cycle each candidate gets exactly its share, spread evenly. One that is not
 * eligible gets nothing, and the others share its part; it starts from zero afterwards and does not catch up.
 */
export function pickWeighted<T extends WeightedCandidate>(
  candidates: readonly T[],
  isEligible: (candidate: T) => boolean = () => true,
): T | undefined {
  let total = 0
  let best: T | undefined
  for (const candidate of candidates) {
    if (!isEligible(candidate)) {
      candidate.credit = 0
      continue
    }
    total += candidate.weight
    candidate.credit += candidate.weight
    if (best === undefined || candidate.credit > best.credit) best = candidate
  }
  if (best !== undefined) best.credit -= total
  return best
}
