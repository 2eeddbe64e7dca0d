import { randomInt } from 'node:crypto'

const ADJECTIVES =
  'amber brave bright brisk calm clear clever cosy crisp eager early fair famous fancy fresh gentle glad golden grand green happy honest humble jolly keen kind light lively lucky mellow merry mild misty modest neat noble plain polite proud quick quiet rapid ready royal rustic shiny silent silver simple smooth snowy soft solid sunny swift tidy upbeat vivid warm wild wise witty young zesty'.split(
    ' ',
  )

const NOUNS =
  'acorn anchor arch aspen badger barn basin bay beacon birch bloom breeze bridge brook canyon cedar cliff cloud clover comet cove creek crow dale dawn delta dune eagle echo elm ember fern field finch fjord forest fox garden glade grove harbor hawk heron hill island ivy lake lark leaf maple marsh meadow moss oak ocean orchid otter owl pine pond reef river robin sparrow spring stone summit thistle valley willow'.split(
    ' ',
  )

/** A pronounceable label, random enough not to be guessed or to collide. */
export function randomName(): string {
  const number = randomInt(36 ** 4, 36 ** 5).toString(36)
  return `${ADJECTIVES[randomInt(ADJECTIVES.length)]}-${NOUNS[randomInt(NOUNS.length)]}-${number}`
}
