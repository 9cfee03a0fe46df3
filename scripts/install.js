// npm's install script: builds what is stale, once. VF_SKIP_BUILD=1 skips it; VF_CUDA=1 compiles CUDA in.
import { build, linkBinary } from './build.js';

if (process.env.VF_SKIP_BUILD === '1') {
  linkBinary();
} else {
  try {
    build({ cuda: process.env.VF_CUDA === '1' });
  } catch (error) {
    console.error(`error: ${error.message}`);
    process.exitCode = 1;
  }
}
