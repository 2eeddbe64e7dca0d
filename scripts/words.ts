// Prints every text of the pages, by source, for a review from top to bottom:
//   npm run words
import { listWords } from './words/list.ts'

for (const { source, sentences } of await listWords()) {
  console.log(`\n${source}`)
  for (const sentence of sentences) console.log(`  ${sentence}`)
}
