{
  "targets": [
    {
      "target_name": "vf",
      "sources": ["<!@(node -p \"require('fs').readFileSync('native/sources.txt','utf8').split('\\n').filter(l => l && !l.startsWith('#') && !/_avx(2|512)\\.cpp$/.test(l)).join(' ')\")"],
      "dependencies": ["vf_avx2", "vf_avx512"],
      "include_dirs": ["<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": ["NAPI_VERSION=8", "NODE_ADDON_API_CPP_EXCEPTIONS", "VF_VERSION=\"<!(node -p \"require('./package.json').version\")\""],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17"],
      "cflags_cc": ["-std=c++17", "-O3", "-ffp-contract=off", "-fvisibility=hidden"],
      "xcode_settings": { "GCC_ENABLE_CPP_EXCEPTIONS": "YES", "OTHER_CPLUSPLUSFLAGS": ["-std=c++17", "-O3", "-ffp-contract=off"] }
    },
    {
      "target_name": "vf_avx2",
      "type": "static_library",
      "sources": ["<!@(node -p \"require('fs').readFileSync('native/sources.txt','utf8').split('\\n').filter(l => /_avx2\\.cpp$/.test(l)).join(' ')\")"],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-std=gnu++17"],
      "cflags_cc": ["-std=c++17", "-O3", "-ffp-contract=off", "-mavx2", "-mfma", "-fPIC"]
    },
    {
      "target_name": "vf_avx512",
      "type": "static_library",
      "sources": ["<!@(node -p \"require('fs').readFileSync('native/sources.txt','utf8').split('\\n').filter(l => /_avx512\\.cpp$/.test(l)).join(' ')\")"],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-std=gnu++17"],
      "cflags_cc": ["-std=c++17", "-O3", "-ffp-contract=off", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512bf16", "-mavx2", "-mfma", "-mprefer-vector-width=512", "-fPIC"]
    }
  ]
}
