/** Sessions of one place that are over: those of `subject` that began at or before `at`. Wall-clock milliseconds. */
export interface Ending {
  readonly place: string
  /** A session, or a person with all their sessions. */
  readonly subject: string
  readonly at: number
  /** From then on no such session could be alive anyway. */
  readonly until: number
}

const MOST = 100_000

interface Place {
  readonly endings: Map<string, { at: number; until: number }>
  /** Sessions that began at or before this are over, whoever's they are. */
  floor: number
}

/**
 * What is known of ended sessions, for every request to look at. Bounded, and never by forgetting that somebody has
 * signed out: the place with the most endings has its older sessions begin anew instead.
 */
export class Endings {
  readonly #most: number
  readonly #places = new Map<string, Place>()
  #size = 0

  constructor(most = MOST) {
    this.#most = most
  }

  get size(): number {
    return this.#size
  }

  add({ place, subject, at, until }: Ending, now: number): void {
    if (until <= now) return
    const known = this.#places.get(place) ?? { endings: new Map(), floor: 0 }
    this.#places.set(place, known)
    const before = known.endings.get(subject)
    if (before === undefined) this.#size++
    known.endings.set(subject, {
      at: Math.max(at, before?.at ?? 0),
      until: Math.max(until, before?.until ?? 0),
    })
    if (this.#size > this.#most) this.#makeRoom(now)
  }

  /** Whether a session of the subject that began then, in wall-clock seconds, is over. */
  isOver(place: string, subject: string, since: number): boolean {
    const known = this.#places.get(place)
    if (known === undefined) return false
    const began = since * 1000
    return began <= known.floor || began <= (known.endings.get(subject)?.at ?? 0)
  }

  /** Forgets what no longer matters. */
  sweep(now: number): void {
    for (const [name, place] of this.#places) {
      for (const [subject, { until }] of place.endings) {
        if (until > now) continue
        place.endings.delete(subject)
        this.#size--
      }
      if (place.endings.size === 0 && place.floor === 0) this.#places.delete(name)
    }
  }

  #makeRoom(now: number): void {
    this.sweep(now)
    if (this.#size <= this.#most) return
    let largest: Place | undefined
    for (const place of this.#places.values())
      if (largest === undefined || place.endings.size > largest.endings.size) largest = place
    const byAge = [...largest!.endings].sort(([, a], [, b]) => a.at - b.at)
    for (const [subject, { at }] of byAge.slice(0, Math.ceil(byAge.length / 2))) {
      largest!.endings.delete(subject)
      largest!.floor = Math.max(largest!.floor, at)
      this.#size--
    }
  }
}
