/** Tokenizer files of the bundled models, in the form that Hugging Face's tokenizers and transformers read. */

import { QWEN_SPLIT, type Vocabulary } from './bpe.js';

/** Special tokens of the bundled models, after the vocabulary, in the order of their ids. */
export const SPECIAL_TOKENS = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'] as const;

/** File name → text of `tokenizer.json` and `tokenizer_config.json`. */
export function tokenizerFiles(vocabulary: Vocabulary): Record<string, string> {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  const added = SPECIAL_TOKENS.map((content, index) => ({
    id: vocabulary.tokens.length + index,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: { type: 'NFC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: QWEN_SPLIT }, behavior: 'Isolated', invert: false },
        byteLevel,
      ],
    },
    post_processor: byteLevel,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: '',
      end_of_word_suffix: '',
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(vocabulary.tokens.map((token, id) => [token, id])),
      merges: vocabulary.merges,
    },
  };
  const config = {
    add_prefix_space: false,
    added_tokens_decoder: Object.fromEntries(added.map(({ id, ...token }) => [id, token])),
    bos_token: null,
    clean_up_tokenization_spaces: false,
    eos_token: '<|endoftext|>',
    errors: 'replace',
    model_max_length: 512,
    pad_token: '<|endoftext|>',
    tokenizer_class: 'Qwen2Tokenizer',
    unk_token: null,
  };
  return {
    'tokenizer.json': `${JSON.stringify(tokenizer)}\n`,
    'tokenizer_config.json': `${JSON.stringify(config, null, 2)}\n`,
  };
}
